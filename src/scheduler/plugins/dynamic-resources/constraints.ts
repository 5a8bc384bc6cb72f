import type { DeviceAttribute, DeviceConstraint } from '#/api/generated/resource/v1.ts'
import type { Candidate } from './pools.ts'

/** The request of a device; `subrequest` is the chosen alternative, if there are several. */
export interface RequestName {
  readonly request: string
  readonly subrequest: string | undefined
}

/** A matchAttribute or distinctAttribute constraint on the devices of a claim. */
export interface Constraint {
  /** Adds a device; returns false, without adding it, if the constraint would be violated. */
  readonly add: (name: RequestName, candidate: Candidate) => boolean
  /** Removes the last added device. */
  readonly remove: (name: RequestName) => void
}

/** Undefined for an unknown constraint type. */
export function constraintOf({
  matchAttribute,
  distinctAttribute,
  requests = [],
}: DeviceConstraint): Constraint | undefined {
  const attribute = matchAttribute ?? distinctAttribute
  if (attribute === undefined) return undefined
  const isSame = matchAttribute !== undefined
  const values: string[] = []
  const isAbout = ({ request, subrequest }: RequestName): boolean => {
    if (requests.length === 0 || requests.includes(request)) return true
    return subrequest !== undefined && requests.includes(`${request}/${subrequest}`)
  }
  return {
    add: (name, candidate) => {
      if (!isAbout(name)) return true
      const value = valueOf(candidate, attribute)
      if (value === undefined) return false
      if (isSame ? values.length > 0 && values[0] !== value : values.includes(value)) return false
      values.push(value)
      return true
    },
    remove: name => {
      if (isAbout(name)) values.pop()
    },
  }
}

/** The type and value of an attribute. The domain can be omitted if it is the driver's. */
function valueOf({ device, driver }: Candidate, name: string): string | undefined {
  const { attributes = {} } = device
  if (Object.hasOwn(attributes, name)) return textOf(attributes[name])
  const [domain, id = ''] = name.split('/')
  return domain === driver && Object.hasOwn(attributes, id) ? textOf(attributes[id]) : undefined
}

function textOf(attribute: DeviceAttribute | undefined): string | undefined {
  const { string, int, bool, version } = attribute ?? {}
  if (string !== undefined) return `string ${string}`
  if (int !== undefined) return `int ${int}`
  if (bool !== undefined) return `bool ${bool}`
  return version === undefined ? undefined : `version ${version}`
}
