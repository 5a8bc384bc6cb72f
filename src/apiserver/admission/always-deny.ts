import { refused, type AdmissionPlugin } from './admission.ts'

/** Rejects every write; for testing. */
export function alwaysDeny(): AdmissionPlugin {
  return {
    name: 'AlwaysDeny',
    validate: request => {
      throw refused(request, 'admission control is denying all modifications')
    },
  }
}
