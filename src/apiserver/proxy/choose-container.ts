import { badRequest } from '#/api/errors.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'

/** The named container, or the only one. Throws ApiError 400. */
export function chooseContainer({ metadata, spec }: Stored<Pod>, named: string): string {
  const pod = metadata.name
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec ?? {}
  const names = [...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => name)
  if (named !== '') {
    if (!names.includes(named)) throw badRequest(`container ${named} is not valid for pod ${pod}`)
    return named
  }
  const [only] = containers
  if (only === undefined) throw badRequest(`a container name must be specified for pod ${pod}`)
  if (containers.length === 1) return only.name
  throw badRequest(`a container name must be specified for pod ${pod}, choose one of: [${names.join(' ')}]`)
}
