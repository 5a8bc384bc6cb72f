/** The OpenAPI v3 document of one group version. */
import type { GroupVersion, Resource } from '#/api/resource.ts'
import { definitionsFor, type DefinitionOptions } from './definitions.ts'
import { reference, version3, type JsonSchema } from './json-schema.ts'
import { compareText, failure, splitParameters, successes, type Operation, type Path } from './operation.ts'
import type { Parameter } from './parameters.ts'
import { bearerToken } from './version-2.ts'

export interface Version3Options extends Omit<DefinitionOptions, 'dialect' | 'homes'> {
  readonly gitVersion: string
  readonly paths: readonly Path[]
  /** The resources of the paths. */
  readonly resources: readonly Resource[]
  readonly home: GroupVersion | undefined
}

export function openApiVersion3(options: Version3Options): JsonSchema {
  const { gitVersion, resources, home } = options
  const paths = [...options.paths].sort((left, right) => compareText(left.path, right.path))
  const homes = [{ group: '', version: 'v1' }, ...(home ? [home] : [])]
  const schemas = definitionsFor(paths, resources, { ...options, homes, dialect: version3 })
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: gitVersion },
    paths: Object.fromEntries(paths.map(path => [path.path, describePath(path)])),
    components: {
      ...(Object.keys(schemas).length > 0 && { schemas }),
      securitySchemes: { BearerToken: bearerToken },
    },
  }
}

function describePath(path: Path): JsonSchema {
  const { shared, own } = splitParameters(path)
  const operations = path.operations.map(operation => [
    operation.method,
    describeOperation(operation, own.get(operation) ?? []),
  ])
  return {
    ...(Object.fromEntries(operations) as JsonSchema),
    ...(shared.length > 0 && { parameters: shared.map(describe) }),
  }
}

function describeOperation(operation: Operation, parameters: readonly Parameter[]): JsonSchema {
  const { tag, id, description, body, consumes = [], produces, responses, action, kind } = operation
  return {
    tags: [tag],
    description,
    operationId: id,
    ...(parameters.length > 0 && { parameters: parameters.map(describe) }),
    ...(body && {
      requestBody: {
        content: describeContent(consumes, body.definition),
        ...(body.required && { required: true }),
      },
    }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([code, name]) => [
          code,
          { description: successes[code], content: describeContent(produces, name) },
        ]),
      ),
      [failure.code]: { description: failure.description },
    },
    ...(action !== undefined && { 'x-kubernetes-action': action }),
    ...(kind && { 'x-kubernetes-group-version-kind': kind }),
  }
}

function describeContent(mediaTypes: readonly string[], name: string): JsonSchema {
  const schema = name === 'string' ? { type: 'string' } : reference(version3, name)
  return Object.fromEntries([...mediaTypes].sort().map(each => [each, { schema }]))
}

function describe({ name, in: place, description, required, type }: Parameter): JsonSchema {
  return {
    name,
    in: place,
    description,
    ...(required && { required }),
    schema: { type, uniqueItems: true },
  }
}
