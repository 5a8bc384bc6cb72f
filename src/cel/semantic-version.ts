/** Semantic versions: `semver("1.2.3-rc.1")`. */
import {
  compareSemanticVersions,
  parseSemanticVersion,
  parseSemanticVersionLeniently,
  SemanticVersionError,
  type SemanticVersion,
} from '#/api/text/semantic-version.ts'
import { Fault } from './fault.ts'
import { globalFunction, method, type Library } from './function.ts'
import { boolType, intType, opaque, stringType } from './type.ts'
import { OpaqueValue } from './value.ts'
import { byStringTraversal } from './library/costs.ts'

export class SemanticVersionValue extends OpaqueValue {
  override readonly typeName = 'kubernetes.Semver'
  readonly version: SemanticVersion

  constructor(version: SemanticVersion) {
    super()
    this.version = version
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof SemanticVersionValue && compare(this, other) === 0
  }
}

export const semanticVersionType = opaque<SemanticVersionValue>('kubernetes.Semver')

const pair = [semanticVersionType, semanticVersionType] as const
const normalized = [stringType, boolType] as const

export const semanticVersionLibrary: Library = {
  overloads: [
    globalFunction(
      'semver',
      [stringType],
      semanticVersionType,
      text => toVersion(text, false),
      byStringTraversal,
    ),
    globalFunction('semver', normalized, semanticVersionType, toVersion, byStringTraversal),
    globalFunction('isSemver', [stringType], boolType, text => isVersion(text, false), byStringTraversal),
    globalFunction('isSemver', normalized, boolType, isVersion, byStringTraversal),
    method('major', [semanticVersionType], intType, ({ version }) => BigInt.asIntN(64, version.major)),
    method('minor', [semanticVersionType], intType, ({ version }) => BigInt.asIntN(64, version.minor)),
    method('patch', [semanticVersionType], intType, ({ version }) => BigInt.asIntN(64, version.patch)),
    method('isGreaterThan', pair, boolType, (a, b) => compare(a, b) > 0),
    method('isLessThan', pair, boolType, (a, b) => compare(a, b) < 0),
    method('compareTo', pair, intType, (a, b) => BigInt(compare(a, b))),
  ],
}

function toVersion(text: string, normalizes: boolean): SemanticVersionValue {
  const parsed = parse(text, normalizes)
  if (parsed instanceof SemanticVersionError) throw new Fault(parsed.message)
  return new SemanticVersionValue(parsed)
}

function isVersion(text: string, normalizes: boolean): boolean {
  return !(parse(text, normalizes) instanceof SemanticVersionError)
}

function parse(text: string, normalizes: boolean): SemanticVersion | SemanticVersionError {
  try {
    return normalizes ? parseSemanticVersionLeniently(text) : parseSemanticVersion(text)
  } catch (error) {
    if (error instanceof SemanticVersionError) return error
    throw error
  }
}

function compare(a: SemanticVersionValue, b: SemanticVersionValue): -1 | 0 | 1 {
  return compareSemanticVersions(a.version, b.version)
}
