import { refused, type AdmissionPlugin } from './admission.ts'

/** Refuses every write: for tests of what comes before it. */
export function alwaysDeny(): AdmissionPlugin {
  return {
    name: 'AlwaysDeny',
    validate: request => {
      throw refused(request, 'admission control is denying all modifications')
    },
  }
}
