/**
 * Field numbers of Kubernetes' protobuf messages, from the notation in `kinds/<group>/overlay.ts`. Types
 * come from the schema.
 *
 * A line names a message and lists its fields by JSON name, numbered from one; a prefix (`7:matchPolicy`)
 * sets the number from which counting continues. An indented line continues the previous one. A message
 * applies to every version of the group, `v1beta1/Device` only to that version.
 *
 * `?` marks a pointer field, for which zero and absent are distinct. `!` marks a field that JSON includes even
 * if zero or absent, although it is not required; `-` one that JSON omits then, although it is required or a
 * time. `verbs(items)` is a list in a separate message. `...VolumeSource` is a message whose fields JSON inlines
 * into the surrounding object.
 */
import { assert } from '#/base/assert.ts'
import fieldNumbers from '../generated/field-numbers.json' with { type: 'json' }

export interface NumberedField {
  readonly number: number
  /** JSON name; for an embedded message its own name. */
  readonly name: string
  readonly presence: Presence
  /** True if JSON omits it when it is empty although it is required. */
  readonly omitEmpty: boolean
  /** True if JSON includes it when it is absent although it is not required. */
  readonly isEncoded: boolean
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

/** A field of a message or of one embedded in it; undefined if there is no such field. */
export function numberedField(shortName: string, name: string): NumberedField | undefined {
  const owner = shortName.slice(0, shortName.lastIndexOf('.'))
  for (const field of numberedFields(shortName) ?? []) {
    if (field.shape === 'embedded') {
      const embedded = numberedField(`${owner}.${field.name}`, name)
      if (embedded) return embedded
    } else if (field.name === name) {
      return field
    }
  }
  return undefined
}

type Messages = ReadonlyMap<string, readonly NumberedField[]>

/** By the short name of the group. */
const notations: ReadonlyMap<string, string> = new Map(Object.entries(fieldNumbers))

/** Parsed notation by group. */
const parsed = new Map<string, Messages>()

function messagesOf(group: string): Messages {
  return parsed.getOrInsertComputed(group, () => readNotation(notations.get(group) ?? ''))
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
      const [, jump, embedded, name = '', items, pointer, mark] = match
      number = jump === undefined ? number + 1 : Number(jump)
      const presence = pointer ? 'pointer' : mark === '!' ? 'shown' : 'value'
      const shape = embedded ? 'embedded' : items ? 'list-message' : 'plain'
      return { number, name, presence, omitEmpty: mark === '-', isEncoded: mark === '!', shape }
    })
}

const fieldPattern = /^(?:(\d+):)?(\.\.\.)?([$\w]+(?:-[$\w]+)*)(\(items\))?(\?)?([!-])?$/
