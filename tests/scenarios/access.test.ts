import { performScenarios } from './perform-scenarios.ts'

performScenarios('access')
