import { performScenarios } from './perform-scenarios.ts'

// Not concurrent: each scenario changes nodes, which would affect the others.
performScenarios('nodes', { concurrency: 1 })
