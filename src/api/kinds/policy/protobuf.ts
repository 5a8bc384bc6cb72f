/** Protobuf field numbers, in the notation of `src/api/protobuf/field-numbers.ts`. */
export const policy = `
Eviction: metadata deleteOptions?
PodDisruptionBudget: metadata spec status
PodDisruptionBudgetList: metadata items
PodDisruptionBudgetSpec: minAvailable? selector? maxUnavailable? unhealthyPodEvictionPolicy?
PodDisruptionBudgetStatus: observedGeneration disruptedPods disruptionsAllowed! currentHealthy!
  desiredHealthy! expectedPods! conditions
`
