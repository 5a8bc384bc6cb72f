/** Groups of pods do not go while pods of theirs run. Served only where the kind is. */
import { isAbout, type AdmissionPlugin } from './admission.ts'
import { withFinalizer } from './protection-finalizer.ts'

export function podGroupProtection(): AdmissionPlugin {
  return {
    name: 'PodGroupProtection',
    handles: target => target.operation === 'CREATE' && isAbout(target, 'podgroups.scheduling.k8s.io'),
    mutate: ({ object }) => object && withFinalizer(object, 'scheduling.k8s.io/podgroup-protection'),
  }
}
