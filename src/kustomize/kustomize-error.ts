/** The failure of a build, with the message that `kubectl kustomize` prints. */
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { SelectorError } from '#/api/selectors/selector-error.ts'
import { RegularExpressionError } from '#/base/regular-expression.ts'

export class KustomizeError extends Error {
  override readonly name = 'KustomizeError'
}

/** Prefixes the message of an expected failure with what was attempted. */
export async function inContext<T>(context: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw toKustomizeError(error, text => `${context}: ${text}`)
  }
}

/** Failures of parsers become failures of the build; a bug stays what it is. */
export function toKustomizeError(error: unknown, describe = (text: string) => text): unknown {
  const isExpected =
    error instanceof KustomizeError ||
    error instanceof DecodeError ||
    error instanceof SelectorError ||
    error instanceof RegularExpressionError
  return isExpected ? new KustomizeError(describe(error.message), { cause: error }) : error
}
