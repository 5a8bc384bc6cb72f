import { performScenarios } from './perform-scenarios.ts'

// Each does something to nodes that others would notice.
performScenarios('nodes', { concurrency: 1 })
