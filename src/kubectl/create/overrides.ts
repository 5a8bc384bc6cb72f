import { isApiError } from '#/api/errors.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { quote } from '#/api/text/quote.ts'
import { messageOf } from '#/base/message-of.ts'
import { stringFlag } from '../flag-types.ts'
import { apiVersionText, kindText } from '../resource/info.ts'

export const overrideFlags = {
  'override-type': stringFlag('How --overrides changes the object: json, merge or strategic.', {
    shownDefault: `'merge'`,
  }),
  'overrides': stringFlag('Patch, as JSON, of the object before it is created.'),
}

interface OverrideFlagValues {
  readonly 'override-type'?: string
  readonly 'overrides'?: string
}

/** The object changed by `--overrides`. Throws Error for a patch that cannot be applied. */
export async function applyOverrides(object: JsonObject, flags: OverrideFlagValues): Promise<JsonObject> {
  const { 'override-type': type = '', overrides = '' } = flags
  if (overrides === '') return object
  const kind = type || 'merge'
  if (kind !== 'json' && kind !== 'merge' && kind !== 'strategic') {
    throw new Error(`invalid override type: ${type}`)
  }
  const [{ applyPatch }, { kindDefinition }, { decode }, { withEncodedFields }] = await Promise.all([
    import('#/api/patch.ts'),
    import('#/api/definitions.ts'),
    import('#/api/decoding/decode.ts'),
    import('#/api/zero-fields.ts'),
  ])
  const schemaOf = (of: JsonObject) => {
    const kindOf = kindText(of)
    const found = kindDefinition(apiVersionText(of), kindOf)
    if (found !== undefined) return found
    throw new Error(
      `no kind ${quote(kindOf)} is registered for version ${quote(apiVersionText(of))} in scheme "kubectl"`,
    )
  }
  try {
    const patch = await parsePatch(overrides, kind)
    const patched = applyPatch(kind, { current: object, patch, schema: schemaOf(object) }) as JsonObject
    const schema = schemaOf(patched)
    return withEncodedFields(decode(patched, schema).value, schema)
  } catch (error) {
    // An error of the server has a reason, and hides why a JSON patch has failed.
    throw isApiError(error) ? new Error(messageOf(error.cause ?? error), { cause: error }) : error
  }
}

async function parsePatch(text: string, kind: 'json' | 'merge' | 'strategic') {
  const [{ parseJson }, { DecodeError }] = await Promise.all([
    import('#/api/text/json.ts'),
    import('#/api/decoding/decode-error.ts'),
  ])
  try {
    const patch = parseJson(text)
    if (kind !== 'json' || Array.isArray(patch)) return patch
  } catch (error) {
    if (!(error instanceof DecodeError) || kind === 'json') throw error
    throw new Error(kind === 'merge' ? 'Invalid JSON Patch' : 'invalid JSON document', { cause: error })
  }
  throw new Error('a JSON patch must be a list of operations')
}
