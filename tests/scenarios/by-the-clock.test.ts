import { performScenarios } from './perform-scenarios.ts'

performScenarios('by-the-clock')
