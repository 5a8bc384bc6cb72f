import { performScenarios } from './perform-scenarios.ts'

performScenarios('workloads')
