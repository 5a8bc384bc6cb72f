/**
 * The features of this kubelet that the scheduler and the admission of pod updates check, sorted by name. Of those of
 * Kubernetes v1.36, in-place resize of pod-level resources and of init containers is not implemented.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/node-declared-features/
 */
export const declaredFeatures: readonly string[] = [
  'ExtendWebSocketsToKubelet',
  'RestartAllContainersOnContainerExits',
]
