/** Adds the protection finalizer to new PodGroups, so that they are not removed while their pods run. */
import { matchesResource, type AdmissionPlugin } from '../admission-chain.ts'
import { withFinalizer } from './protection-finalizer.ts'

export function podGroupProtection(): AdmissionPlugin {
  return {
    name: 'PodGroupProtection',
    handles: target =>
      target.operation === 'CREATE' && matchesResource(target, 'podgroups.scheduling.k8s.io'),
    mutate: ({ object }) => object && withFinalizer(object, 'scheduling.k8s.io/podgroup-protection'),
  }
}
