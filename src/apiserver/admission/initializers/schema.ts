/** Kinds whose metadata has `initializers`, a field that Kubernetes no longer knows. */
import { structDefinition } from '#/api/definitions.ts'
import type { Resource } from '#/api/resource.ts'
import type { Field, StructSchema } from '#/api/schema.ts'
import { struct, text } from '../plugin-configuration.ts'

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'

const initializer: StructSchema = {
  ...struct(`${meta}.Initializer`, {}),
  fields: new Map([['name', { schema: text, required: true }]]),
}

const initializers: StructSchema = {
  ...struct(`${meta}.Initializers`, {}),
  fields: new Map<string, Field>([
    [
      'pending',
      {
        // Their order matters: who owns one owns them all.
        schema: { type: 'list', items: initializer, listType: 'atomic', keys: [] },
        required: true,
        patch: { merge: true, replace: false, retainKeys: false, mergeKey: 'name' },
      },
    ],
    ['result', { schema: structDefinition('meta.v1.Status'), required: false }],
  ]),
}

const known = structDefinition('meta.v1.ObjectMeta')

const objectMeta = extended(known, fields =>
  new Map(fields).set('initializers', { schema: initializers, required: false }),
)

const made = new WeakMap<Resource, Resource>()

/** The same kind with the field. */
export function withInitializersField(resource: Resource): Resource {
  const before = made.get(resource)
  if (before) return before
  const schema = extended(resource.schema, fields => {
    const metadata = fields.get('metadata')
    return metadata?.schema === known
      ? new Map(fields).set('metadata', { ...metadata, schema: objectMeta })
      : fields
  })
  const result: Resource = { ...resource, schema }
  made.set(resource, result)
  // Extending it once more changes nothing.
  made.set(result, result)
  return result
}

/** Reads the fields when they are first asked for, as the definitions of the API do. */
function extended(
  schema: StructSchema,
  extend: (fields: ReadonlyMap<string, Field>) => ReadonlyMap<string, Field>,
): StructSchema {
  let fields: ReadonlyMap<string, Field> | undefined
  const { type, name, atomic, preserveUnknownFields } = schema
  return {
    type,
    name,
    atomic,
    preserveUnknownFields,
    get fields() {
      fields ??= extend(schema.fields)
      return fields
    },
  }
}
