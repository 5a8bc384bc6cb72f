import { performScenarios } from './perform-scenarios.ts'

performScenarios('scheduling', { simulatedNodes: 5 })
// Each does something to nodes that others would notice.
performScenarios('marked-nodes', { simulatedNodes: 5, concurrency: 1 })
