/** An operation on a path, independent of the OpenAPI version. */
import type { GroupVersionKind } from '#/api/resource.ts'
import type { Parameter } from './parameters.ts'

export interface Path {
  readonly path: string
  readonly operations: readonly Operation[]
}

export interface Operation {
  readonly method: Method
  readonly id: string
  readonly tag: string
  readonly description: string
  /** Value of `x-kubernetes-action`; absent for non-resource operations. */
  readonly action?: string
  readonly kind?: GroupVersionKind
  readonly consumes?: readonly string[]
  readonly produces: readonly string[]
  /** Query and path parameters, sorted. */
  readonly parameters: readonly Parameter[]
  readonly body?: Body
  /** Success codes with the name of a definition, or `string`. */
  readonly responses: Readonly<Record<string, string>>
}

export type Method = 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch'

export interface Body {
  /** Name of a definition. */
  readonly definition: string
  readonly required: boolean
}

/** The error response listed for every operation. */
export const failure = { code: '401', description: 'Unauthorized' }

export const successes: Readonly<Record<string, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted' }

/** Sorts by name, then path before query. */
export function sortParameters(parameters: readonly Parameter[]): readonly Parameter[] {
  return [...parameters].sort(
    (left, right) => compareText(left.name, right.name) || compareText(left.in, right.in),
  )
}

export interface Split {
  readonly shared: readonly Parameter[]
  readonly own: ReadonlyMap<Operation, readonly Parameter[]>
}

/** Parameters common to all operations of a path are listed at the path. */
export function splitParameters({ operations }: Path): Split {
  const [first, ...others] = operations
  const shared = (first?.parameters ?? []).filter(parameter =>
    others.every(({ parameters }) => parameters.some(each => isSame(each, parameter))),
  )
  const own = new Map(
    operations.map(operation => [
      operation,
      operation.parameters.filter(parameter => !shared.some(each => isSame(each, parameter))),
    ]),
  )
  return { shared, own }
}

function isSame(left: Parameter, right: Parameter): boolean {
  return (
    left === right ||
    (left.name === right.name && left.in === right.in && left.description === right.description)
  )
}

export function compareText(left: string, right: string): number {
  if (left === right) return 0
  return left < right ? -1 : 1
}
