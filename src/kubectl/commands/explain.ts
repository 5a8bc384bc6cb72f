import { apiVersionOf } from '#/api/resource.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { NoResourceMatchError, type RestMapping } from '../discovery/rest-mapper.ts'
import { UnprefixedError } from '../errors.ts'
import { SchemaDocuments } from '../explain/schema-documents.ts'
import type { Factory } from '../factory.ts'
import { boolFlag, stringFlag } from '../flag-types.ts'
import { splitApiVersion } from '../resource/find-resources.ts'

const flags = {
  'api-version': stringFlag('Explain the resource in this API version: GROUP/VERSION.'),
  'output': stringFlag('Format: plaintext, or plaintext-openapiv2.', {
    shorthand: 'o',
    shownDefault: `'plaintext'`,
  }),
  'recursive': boolFlag('Show the fields of all fields, without descriptions.', { shorthand: 'R' }),
}

type ExplainInvocation = Invocation<typeof flags>

export const command = defineCommand({
  usage:
    'explain TYPE [--recursive=FALSE|TRUE] [--api-version=api-version-group] ' +
    '[-o|--output=plaintext|plaintext-openapiv2]',
  description: `Shows the documentation of a resource or of its fields, which are named by a path:

  <type>.<fieldName>[.<fieldName>]

The documentation comes from the OpenAPI documents of the server.

Use "kubectl api-resources" for a complete list of supported resources.`,
  examples: `  # A resource
  kubectl explain pods

  # With all fields
  kubectl explain pods --recursive

  # In an API version
  kubectl explain deployments --api-version=apps/v1

  # A field
  kubectl explain pods.spec.containers

  # From the OpenAPI document of version 2
  kubectl explain deployment --output=plaintext-openapiv2`,
  flags,
  async run(invocation) {
    const { args, factory } = invocation
    const { output = 'plaintext' } = invocation.flags
    const [path = '', ...others] = args
    if (args.length === 0) {
      const hint = 'Use "kubectl api-resources" for a complete list of supported resources.\n'
      throw new Error(`You must specify the type of resource to explain. ${hint}`)
    }
    if (others.length > 0) throw new Error('We accept only this format: explain RESOURCE\n')
    try {
      const target = await findTarget(invocation, path)
      const documents = await documentsOf(factory)
      const urls = output === 'plaintext-openapiv2' ? undefined : await documents.urls()
      if (urls !== undefined && output !== 'plaintext') throw new Error(`unrecognized format: ${output}`)
      await (urls === undefined
        ? explainModel(invocation, { target, documents })
        : explainSchema(invocation, { target, documents, urls }))
    } catch (error) {
      if (!(error instanceof NoResourceMatchError)) throw error
      throw new UnprefixedError(error.message, { cause: error })
    }
  },
})

async function documentsOf(factory: Factory): Promise<SchemaDocuments> {
  const { client, settings } = await factory.connection()
  const { platform } = factory.machine
  return new SchemaDocuments({ platform, client, folder: factory.cacheFolder(), server: settings.server })
}

interface Target {
  readonly mapping: RestMapping
  readonly fields: readonly string[]
}

/** The resource may have a group, which the path of fields follows: `deployments.apps.spec`. */
async function findTarget({ flags: given, factory }: ExplainInvocation, path: string): Promise<Target> {
  const [resource = '', ...rest] = splitPath(path)
  const mapper = await factory.restMapper()
  if (!given['api-version'] && rest.length > 0) {
    const groups = new Set((await mapper.discovery.groups()).map(({ name }) => name))
    for (let count = rest.length; count > 0; count--) {
      const group = rest.slice(0, count).join('.')
      if (!groups.has(group)) continue
      const mapping = await mapper.resourceFor(`${resource}.${group}`).catch(() => undefined)
      if (mapping?.plural === resource.toLowerCase()) return { mapping, fields: rest.slice(count) }
    }
  }
  return { mapping: await mapper.resourceFor(resource), fields: rest }
}

/** Throws Error for a path with anything but names. */
function splitPath(path: string): readonly string[] {
  const names = path.split('.').filter(Boolean)
  if (names.length === 0 || names.some(name => /[[\]{}()*?@,'"\s]/.test(name))) {
    throw new Error('invalid jsonpath syntax, first node must be field node')
  }
  return names
}

interface ExplainOptions {
  readonly target: Target
  readonly documents: SchemaDocuments
}

async function explainSchema(
  { flags: given, streams }: ExplainInvocation,
  { target, documents, urls }: ExplainOptions & { readonly urls: ReadonlyMap<string, string> },
): Promise<void> {
  const resource = versioned(target.mapping, given['api-version'])
  const { group, plural } = resource
  const apiVersion = apiVersionOf(resource)
  const shown = `${group}/${resource.version}, Resource=${plural}`
  const url = urls.get(group === '' ? `api/${apiVersion}` : `apis/${apiVersion}`)
  if (url === undefined) throw new Error(`couldn't find resource for "${shown}"`)
  const { describeKind, describeSchema, kindOfResource } = await import('../explain/describe-schema.ts')
  const document = await documents.document(url)
  const kind = kindOfResource(document, resource)
  if (kind === undefined) throw new Error(`error: GVR (${shown}) not found in OpenAPI schema`)
  streams.write(describeKind(kind))
  const { fields } = target
  const text = describeSchema(document, { kind, fields, recursive: given.recursive ?? false })
  if (text === undefined) throw new Error(`error: field "${fields.at(-1)}" does not exist`)
  streams.write(`${text}\n`)
}

async function explainModel(
  { flags: given, streams }: ExplainInvocation,
  { target: { mapping, fields }, documents }: ExplainOptions,
): Promise<void> {
  const kind = versioned(mapping, given['api-version'])
  const { describeModel } = await import('../explain/describe-model.ts')
  streams.write(
    describeModel(await documents.version2(), { kind, fields, recursive: given.recursive ?? false }),
  )
}

function versioned(mapping: RestMapping, apiVersion: string | undefined): RestMapping {
  if (!apiVersion) return mapping
  const [group, version] = splitApiVersion(apiVersion)
  return { ...mapping, group, version }
}
