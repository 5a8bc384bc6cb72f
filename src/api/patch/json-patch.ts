/** JSON patch (RFC 6902), with the limits and leniencies of Kubernetes' API. */
import { describeType } from '../decoding/decode-scalar.ts'
import { ApiError, apiError, badRequest, requestEntityTooLarge } from '../errors.ts'
import { equalJson, type JsonValue } from '../text/json-value.ts'
import { showValue } from '../text/quote.ts'
import { DocumentDraft, type Path } from './document-draft.ts'
import { depthMax, get, isObject, isScalar, tooDeep, type JsonObject } from '../text/json-object.ts'
import { parsePointer } from './json-pointer.ts'

/** Maximum number of operations; as in Kubernetes, a longer patch is rejected with 413. */
export const operationsMax = 10_000

/**
 * Maximum number of characters that the `copy` operations of a patch may add, as in Kubernetes: otherwise ten
 * of them could produce a gigabyte.
 */
const copiedSizeMax = 3 * 1024 * 1024

/** A `test` operation failed: the patch is valid but does not apply to this document. */
export class JsonPatchTestError extends ApiError {}

/** Performs all operations. If one fails, an error is thrown and the input is unchanged. */
export function applyJsonPatch(document: JsonValue, patch: JsonValue): JsonValue {
  const run: Run = { draft: new DocumentDraft(document), copiedSize: 0, mayDeepen: false }
  for (const operation of parsePatch(patch)) {
    const problem = perform(run, operation)
    if (problem !== undefined) throw operationFailed(operation, problem)
  }
  if (run.mayDeepen && nestsDeeper(run.draft.root, depthMax)) throw tooDeep()
  return run.draft.root
}

interface Run {
  readonly draft: DocumentDraft
  copiedSize: number
  /**
   * True if an operation may have increased the nesting depth, such as by copying a value into itself
   * repeatedly.
   */
  mayDeepen: boolean
}

interface Operation {
  readonly op: string
  readonly path: string | undefined
  readonly from: string | undefined
  /** Null if absent, as in Kubernetes. */
  readonly value: JsonValue
}

/** Performs one operation; returns an error message if it fails. */
function perform(run: Run, operation: Operation): string | undefined {
  const path = operation.path === undefined ? undefined : parsePointer(operation.path)
  if (path === undefined) return 'path is not a valid JSON pointer'
  switch (operation.op) {
    case 'add':
      run.mayDeepen ||= typeof operation.value === 'object'
      return unless(run.draft.add(path, operation.value), missing)
    case 'replace':
      run.mayDeepen ||= typeof operation.value === 'object'
      return unless(run.draft.replace(path, operation.value), missing)
    case 'remove':
      return unless(run.draft.remove(path), missing)
    case 'test':
      return test(run.draft, path, operation.value)
    case 'move':
    case 'copy':
      return moveOrCopy(run, path, operation)
    default:
      return 'unknown operation'
  }
}

const missing = 'path does not exist'

/** As in Kubernetes, a missing member equals null, which allows testing for absence. */
function test(draft: DocumentDraft, path: Path, expected: JsonValue): string | undefined {
  const found = draft.read(path)
  if (found !== undefined) return unless(equalJson(found, expected), 'testing value failed: values differ')
  if (!isObject(draft.read(path.slice(0, -1)))) return missing
  return unless(expected === null, 'testing value failed: value does not exist')
}

function moveOrCopy(run: Run, path: Path, operation: Operation): string | undefined {
  const from = operation.from === undefined ? undefined : parsePointer(operation.from)
  if (from === undefined) return 'from is not a valid JSON pointer'
  const value = run.draft.read(from)
  if (value === undefined) return 'from does not exist'
  run.mayDeepen = true
  if (operation.op === 'copy') {
    run.copiedSize += run.draft.share(value, copiedSizeMax)
    if (run.copiedSize > copiedSizeMax) return `copy operations add more than ${copiedSizeMax} bytes`
    return unless(run.draft.add(path, value), missing)
  }
  if (from.every((name, level) => name === path[level])) {
    return unless(from.length === path.length, 'from must not be a prefix of path')
  }
  return unless(run.draft.remove(from) && run.draft.add(path, value), missing)
}

function unless(done: boolean, problem: string): string | undefined {
  return done ? undefined : problem
}

function parsePatch(patch: JsonValue): readonly Operation[] {
  if (patch === null) return []
  if (!Array.isArray(patch)) throw undecodable(patch, 'value of type []handlers.jsonPatchOp')
  if (patch.length > operationsMax) {
    const limit = `The allowed maximum operations in a JSON patch is ${operationsMax}`
    throw requestEntityTooLarge(`${limit}, got ${patch.length}`)
  }
  return patch.map(each => {
    if (!isObject(each)) throw undecodable(each, 'value of type handlers.jsonPatchOp')
    const text = (key: string) => textMember(each, key)
    const value = get(each, 'value') ?? null
    return { op: text('op') ?? '', path: text('path'), from: text('from'), value }
  })
}

function textMember(operation: JsonObject, key: string): string | undefined {
  const value = get(operation, key) ?? undefined
  if (value === undefined || typeof value === 'string') return value
  throw undecodable(value, `struct field jsonPatchOp.${key} of type string`)
}

function undecodable(value: JsonValue, target: string): ApiError {
  return badRequest(`error decoding patch: json: cannot unmarshal ${describeType(value)} into Go ${target}`)
}

const rejected = 'the server rejected our request due to an error in our request'

/** Maximum length of a path in an error message. */
const shownCharactersMax = 200

/** As in Kubernetes, the client does not see the reason. */
function operationFailed(operation: Operation, problem: string): ApiError {
  const [op, path] = [operation.op, operation.path ?? ''].map(each => showValue(each, shownCharactersMax))
  const { status } = apiError('Invalid', rejected, {})
  const isTest = operation.op === 'test' && problem !== missing
  const error = isTest ? new JsonPatchTestError(status) : new ApiError(status)
  return error.causedBy(new Error(`cannot ${op} ${path}: ${problem}`))
}

function nestsDeeper(value: JsonValue, levels: number): boolean {
  let here: JsonValue[] = [value]
  for (let level = 0; here.length > 0; level++) {
    if (level > levels) return true
    const below: JsonValue[] = []
    for (const container of here) {
      if (isScalar(container)) continue
      for (const each of Object.values<JsonValue>(container)) if (!isScalar(each)) below.push(each)
    }
    here = below
  }
  return false
}
