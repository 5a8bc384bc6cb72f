/**
 * Field numbers of Kubernetes' protobuf messages, from the notation in `kinds/<group>/group.ts`. Types
 * come from the schema.
 *
 * A line names a message and lists its fields by JSON name, numbered from one; a prefix (`7:matchPolicy`)
 * sets the number from which counting continues. An indented line continues the previous one. A message
 * applies to every version of the group, `v1beta1/Device` only to that version.
 *
 * `?` marks a pointer field, for which zero and absent are distinct. `!` marks a field without a pointer that
 * JSON includes even if zero or empty, although it is not required. `verbs(items)` is a list in a separate
 * message. `...VolumeSource` is a message whose fields JSON inlines into the surrounding object.
 */
import { assert } from '#/base/assert.ts'
import { admissionregistrationFieldNumbers } from '../kinds/admissionregistration/group.ts'
import { apiextensionsFieldNumbers } from '../kinds/apiextensions/group.ts'
import { apiregistrationFieldNumbers } from '../kinds/apiregistration/group.ts'
import { apiserverinternalFieldNumbers } from '../kinds/apiserverinternal/group.ts'
import { appsFieldNumbers } from '../kinds/apps/group.ts'
import { authenticationFieldNumbers } from '../kinds/authentication/group.ts'
import { authorizationFieldNumbers } from '../kinds/authorization/group.ts'
import { autoscalingFieldNumbers } from '../kinds/autoscaling/group.ts'
import { batchFieldNumbers } from '../kinds/batch/group.ts'
import { certificatesFieldNumbers } from '../kinds/certificates/group.ts'
import { coordinationFieldNumbers } from '../kinds/coordination/group.ts'
import { coreFieldNumbers } from '../kinds/core/group.ts'
import { discoveryFieldNumbers } from '../kinds/discovery/group.ts'
import { eventsFieldNumbers } from '../kinds/events/group.ts'
import { flowcontrolFieldNumbers } from '../kinds/flowcontrol/group.ts'
import { metaFieldNumbers } from '../kinds/meta-group.ts'
import { networkingFieldNumbers } from '../kinds/networking/group.ts'
import { nodeFieldNumbers } from '../kinds/node/group.ts'
import { policyFieldNumbers } from '../kinds/policy/group.ts'
import { rbacFieldNumbers } from '../kinds/rbac/group.ts'
import { resourceFieldNumbers } from '../kinds/resource/group.ts'
import { schedulingFieldNumbers } from '../kinds/scheduling/group.ts'
import { storageFieldNumbers } from '../kinds/storage/group.ts'
import { storagemigrationFieldNumbers } from '../kinds/storagemigration/group.ts'

export interface NumberedField {
  readonly number: number
  /** JSON name; for an embedded message its own name. */
  readonly name: string
  readonly presence: Presence
  readonly shape: 'plain' | 'list-message' | 'embedded'
}

export type Presence =
  /** Zero and absent are distinct. */
  | 'pointer'
  /** Zero and absent are the same, and JSON includes the field. */
  | 'shown'
  /** Zero and absent are the same, and JSON omits the field unless it is required. */
  | 'value'

/** The fields of a message by short name (`core.v1.Pod`); undefined if there is no such message. */
export function numberedFields(shortName: string): readonly NumberedField[] | undefined {
  const [group = '', version = '', name = ''] = shortName.split('.')
  const messages = messagesOf(group)
  return messages.get(`${version}/${name}`) ?? messages.get(name)
}

/** The presence of a field in a message or in one embedded in it; undefined if there is no such field. */
export function presenceOf(shortName: string, name: string): Presence | undefined {
  const owner = shortName.slice(0, shortName.lastIndexOf('.'))
  for (const field of numberedFields(shortName) ?? []) {
    if (field.shape === 'embedded') {
      const presence = presenceOf(`${owner}.${field.name}`, name)
      if (presence) return presence
    } else if (field.name === name) {
      return field.presence
    }
  }
  return undefined
}

const notations: ReadonlyMap<string, string> = new Map(
  Object.entries({
    admissionregistration: admissionregistrationFieldNumbers,
    apiextensions: apiextensionsFieldNumbers,
    apiregistration: apiregistrationFieldNumbers,
    apiserverinternal: apiserverinternalFieldNumbers,
    apps: appsFieldNumbers,
    authentication: authenticationFieldNumbers,
    authorization: authorizationFieldNumbers,
    autoscaling: autoscalingFieldNumbers,
    batch: batchFieldNumbers,
    certificates: certificatesFieldNumbers,
    coordination: coordinationFieldNumbers,
    core: coreFieldNumbers,
    discovery: discoveryFieldNumbers,
    events: eventsFieldNumbers,
    flowcontrol: flowcontrolFieldNumbers,
    meta: metaFieldNumbers,
    networking: networkingFieldNumbers,
    node: nodeFieldNumbers,
    policy: policyFieldNumbers,
    rbac: rbacFieldNumbers,
    resource: resourceFieldNumbers,
    scheduling: schedulingFieldNumbers,
    storage: storageFieldNumbers,
    storagemigration: storagemigrationFieldNumbers,
  }),
)

type Messages = ReadonlyMap<string, readonly NumberedField[]>

/** Parsed notation by group. */
const read = new Map<string, Messages>()

function messagesOf(group: string): Messages {
  const known = read.get(group)
  if (known) return known
  const messages = readNotation(notations.get(group) ?? '')
  read.set(group, messages)
  return messages
}

function readNotation(notation: string): Messages {
  const lines = notation
    .trim()
    .replaceAll('\n  ', ' ')
    .split('\n')
    .filter(line => line !== '')
  return new Map(
    lines.map(line => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), readFields(line.slice(colon + 1).trim())]
    }),
  )
}

function readFields(text: string): NumberedField[] {
  let number = 0
  return text
    .split(' ')
    .filter(word => word !== '')
    .map(word => {
      const match = fieldPattern.exec(word)
      assert(match, `invalid field notation: ${word}`)
      const [, jump, embedded, name = '', items, mark] = match
      number = jump === undefined ? number + 1 : Number(jump)
      const presence = mark === '?' ? 'pointer' : mark === '!' ? 'shown' : 'value'
      const shape = embedded ? 'embedded' : items ? 'list-message' : 'plain'
      return { number, name, presence, shape }
    })
}

const fieldPattern = /^(?:(\d+):)?(\.\.\.)?([$\w-]+)(\(items\))?([?!])?$/
