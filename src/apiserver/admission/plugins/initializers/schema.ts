/** Adds the removed `metadata.initializers` field to the schemas of resources. */
import { structDefinition } from '#/api/definitions.ts'
import type { Resource } from '#/api/resource.ts'
import type { Field, StructSchema } from '#/api/schema.ts'
import { struct, text } from '../../plugin-configuration.ts'

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
        // Atomic because the order matters: a field manager owns the whole list.
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

/** The same resource with `metadata.initializers` in its schema. */
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
  // Makes the function idempotent.
  made.set(result, result)
  return result
}

/** Computes the fields lazily, like the generated API definitions. */
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
