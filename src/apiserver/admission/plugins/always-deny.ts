import { admissionForbidden, type AdmissionPlugin } from '../admission-chain.ts'

/** Rejects every write; for testing. */
export function alwaysDeny(): AdmissionPlugin {
  return {
    name: 'AlwaysDeny',
    validate: request => {
      throw admissionForbidden(request, 'admission control is denying all modifications')
    },
  }
}
