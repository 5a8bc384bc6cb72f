import { performScenarios } from './perform-scenarios.ts'

performScenarios('scheduling', { simulatedNodes: 5 })
// Not concurrent: each scenario changes nodes, which would affect the others.
performScenarios('marked-nodes', { simulatedNodes: 5, concurrency: 1 })
