/** The OpenAPI v2 (Swagger) document of the whole API. */
import type { Resource } from '#/api/resource.ts'
import { versionsOf } from '../discovery/groups.ts'
import { definitionsFor, type DefinitionOptions } from './definitions.ts'
import { fixedPaths, resourceListPath } from './fixed-paths.ts'
import { reference, version2, type JsonSchema } from './json-schema.ts'
import { compareText, failure, splitParameters, successes, type Operation, type Path } from './operation.ts'
import type { Parameter } from './parameters.ts'
import { resourcePaths } from './resource-paths.ts'
import { SharedParameters } from './shared-parameters.ts'

export interface Version2Options extends Omit<DefinitionOptions, 'dialect' | 'homes'> {
  /** Server version, e.g. `v1.36.4+k8ts.0.1.0`. */
  readonly gitVersion: string
}

export function openApiVersion2(resources: readonly Resource[], options: Version2Options): JsonSchema {
  const paths = allPaths(resources)
  const shared = new SharedParameters()
  const items = Object.fromEntries(paths.map(path => [path.path, describePath(path, shared)]))
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version: options.gitVersion },
    paths: items,
    definitions: definitionsFor(paths, resources, { ...options, dialect: version2 }),
    parameters: shared.definitions(),
    securityDefinitions: { BearerToken: bearerToken },
    security: [{ BearerToken: [] }],
  }
}

export const bearerToken: JsonSchema = {
  description: 'Bearer Token authentication',
  type: 'apiKey',
  name: 'authorization',
  in: 'header',
}

function allPaths(resources: readonly Resource[]): readonly Path[] {
  const versions = versionsOf(resources)
  return [
    ...fixedPaths(versions.keys()).values(),
    ...[...versions].flatMap(([group, each]) => each.map(version => resourceListPath({ group, version }))),
    ...resources.flatMap(resourcePaths),
  ].sort((left, right) => compareText(left.path, right.path))
}

function describePath(path: Path, shared: SharedParameters): JsonSchema {
  const parameters = splitParameters(path)
  const operations = path.operations.map(operation => [
    operation.method,
    describeOperation(operation, parameters.own.get(operation) ?? [], shared),
  ])
  return {
    ...(Object.fromEntries(operations) as JsonSchema),
    ...(parameters.shared.length > 0 && {
      parameters: parameters.shared.map(each => shared.write(describe(each))),
    }),
  }
}

function describeOperation(
  operation: Operation,
  parameters: readonly Parameter[],
  shared: SharedParameters,
): JsonSchema {
  const { action, kind, consumes, produces, tag, id, description, body, responses } = operation
  const bodies = body
    ? [
        {
          name: 'body',
          in: 'body',
          ...(body.required && { required: true }),
          schema: reference(version2, body.definition),
        },
      ]
    : []
  const written = [...bodies, ...parameters.map(describe)].sort((left, right) =>
    compareText(String(left['name']), String(right['name'])),
  )
  return {
    description,
    consumes,
    produces,
    schemes: ['https'],
    tags: [tag],
    operationId: id,
    ...(written.length > 0 && { parameters: written.map(each => shared.write(each)) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([code, name]) => [
          code,
          {
            description: successes[code],
            schema: name === 'string' ? { type: 'string' } : reference(version2, name),
          },
        ]),
      ),
      [failure.code]: { description: failure.description },
    },
    ...(action !== undefined && { 'x-kubernetes-action': action }),
    ...(kind && { 'x-kubernetes-group-version-kind': kind }),
  }
}

/** The key order matters: it determines the hash in the names of shared parameters. */
function describe({ type, description, name, required, in: place }: Parameter): JsonSchema {
  return { uniqueItems: true, type, description, name, in: place, ...(required && { required }) }
}
