import type { AdmissionPlugin } from './admission.ts'

/** Does nothing. Old configurations name it. */
export function alwaysAdmit(): AdmissionPlugin {
  return { name: 'AlwaysAdmit' }
}
