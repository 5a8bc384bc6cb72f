import type { AdmissionPlugin } from '../admission-chain.ts'

/** Does nothing; exists because old configurations name it. */
export function alwaysAdmit(): AdmissionPlugin {
  return { name: 'AlwaysAdmit' }
}
