import { performScenarios } from './perform-scenarios.ts'

performScenarios('deletion')
