/** The requests of the npm package: their paths, methods, and request and response models. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Operation {
  /** `listNamespacedPod`. */
  readonly name: string
  readonly path: string
  readonly method: string
  readonly parameters: readonly string[]
  /** The request model, empty when there is none. */
  readonly body: string
  /** The response model, `string` when the response is not an object. */
  readonly response: string
}

export function readOperations(directory: string): readonly Operation[] {
  return readdirSync(directory)
    .filter(file => file.endsWith('Api.js'))
    .flatMap(file => operationsOf(readFileSync(join(directory, file), 'utf8')))
}

function operationsOf(source: string): readonly Operation[] {
  const operations: Omit<Operation, 'response'>[] = []
  const responses = new Map<string, string>()
  for (const [text, name, parameters] of source.matchAll(/^ {4}async (\w+)\((.*)\) \{\n[^]*?^ {4}\}/gm)) {
    if (name === undefined || parameters === undefined) continue
    const path = /localVarPath = '([^']*)'/.exec(text)?.[1]
    if (path === undefined) {
      const response = /deserialize\(.*, "(\w+)", ""\)/.exec(text)?.[1]
      responses.set(name.replace(/WithHttpInfo$/, ''), response ?? '')
      continue
    }
    operations.push({
      name,
      path,
      method: /HttpMethod\.(\w+)/.exec(text)?.[1] ?? '',
      parameters: parameters.split(', '),
      body: /serialize\(body, "(\w+)"/.exec(text)?.[1] ?? '',
    })
  }
  return operations.map(operation => {
    const response = responses.get(operation.name) ?? ''
    return Object.assign(operation, { response })
  })
}
