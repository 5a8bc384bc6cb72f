/** Admission for tests: the real plugins, and one that rejects requests chosen by the test. */
import type { ApiError } from '#/api/errors.ts'
import { readAdmission, type AdmissionOptions, type AdmissionPluginFactory } from '#/apiserver/admission.ts'
import { Simulation } from '#/platform/simulated.ts'

/** Rejects creation of the resources for which the test returns an error. */
export function refuseCreation(decide: (plural: string) => ApiError | undefined): AdmissionPluginFactory {
  return () => [
    {
      name: 'RefuseCreation',
      handles: ({ operation }) => operation === 'CREATE',
      validate({ resource }) {
        const error = decide(resource.plural)
        if (error) throw error
      },
    },
  ]
}

/**
 * The plugins of a real API server, except ServiceAccount, since no controller creates service accounts here.
 */
export function usualAdmission(options: AdmissionOptions = {}): Promise<AdmissionPluginFactory> {
  const { files } = new Simulation({ seed: 1 }).host('files')
  return readAdmission(files, { disable: ['ServiceAccount'], ...options })
}
