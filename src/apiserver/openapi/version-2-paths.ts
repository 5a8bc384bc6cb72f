/** The paths of OpenAPI v2. */
import { reference, version2, type JsonSchema } from './json-schema.ts'
import { compareText, failure, splitParameters, successes, type Operation, type Path } from './operation.ts'
import type { Parameter } from './parameters.ts'
import type { SharedParameters } from './shared-parameters.ts'

export function describePath(path: Path, shared: SharedParameters): JsonSchema {
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
    ...(consumes && { consumes }),
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
