/** Costs of expression nodes other than function calls, as in Kubernetes. */
export const selectCost = 1
export const listCost = 10
export const mapCost = 30
export const structCost = 40
