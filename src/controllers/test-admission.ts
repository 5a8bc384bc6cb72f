/** Admission for tests: the real plugins, and one that refuses what the test says. */
import type { ApiError } from '#/api/errors.ts'
import { readAdmission, type AdmissionOptions, type MakeAdmissionPlugins } from '#/apiserver/admission.ts'
import { Simulation } from '#/platform/simulated.ts'

/** Refuses to create what the test has an error for. */
export function refuseCreation(decide: (plural: string) => ApiError | undefined): MakeAdmissionPlugins {
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

/** The plugins of a real server, but for the one that wants service accounts, which nobody makes here. */
export function usualAdmission(options: AdmissionOptions = {}): Promise<MakeAdmissionPlugins> {
  const { files } = new Simulation({ seed: 1 }).host('files')
  return readAdmission(files, { disable: ['ServiceAccount'], ...options })
}
