/** Adds the protection finalizer to new PodGroups, so that they are not removed while their pods run. */
import { isAbout, type AdmissionPlugin } from './admission.ts'
import { withFinalizer } from './protection-finalizer.ts'

export function podGroupProtection(): AdmissionPlugin {
  return {
    name: 'PodGroupProtection',
    handles: target => target.operation === 'CREATE' && isAbout(target, 'podgroups.scheduling.k8s.io'),
    mutate: ({ object }) => object && withFinalizer(object, 'scheduling.k8s.io/podgroup-protection'),
  }
}
