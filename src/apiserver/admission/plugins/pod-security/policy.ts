/** The Pod Security levels and versions of a namespace, from its labels and the defaults. */
import { invalid, type FieldError } from '#/api/field-error.ts'
import type { Labels } from '#/api/labels.ts'

/** From least to most strict. */
const levels = ['privileged', 'baseline', 'restricted'] as const

export type Level = (typeof levels)[number]

export interface LevelVersion {
  readonly level: Level
  readonly version: Version
}

/** Minor version, 30 for `v1.30`; Infinity is `latest`. */
export type Version = number

export const latestVersion: Version = Infinity

export interface Policy {
  readonly enforce: LevelVersion
  readonly audit: LevelVersion
  readonly warn: LevelVersion
}

export const modes = ['enforce', 'audit', 'warn'] as const

export type Mode = (typeof modes)[number]

export const labelPrefix = 'pod-security.kubernetes.io/'

export function parseLevel(text: string): Level | undefined {
  return levels.find(level => level === text)
}

export function parseVersion(text: string): Version | undefined {
  if (text === 'latest') return latestVersion
  const [, minor] = versionPattern.exec(text) ?? []
  return minor === undefined ? undefined : Number(minor)
}

const versionPattern = /^v1\.(0|[1-9][0-9]{0,8})$/

export const levelMessage = `must be one of ${levels.join(', ')}`
export const versionMessage = 'must be "latest" or "v1.x"'

/** `restricted:v1.30`. */
export function formatLevelVersion({ level, version }: LevelVersion): string {
  return `${level}:${version === latestVersion ? 'latest' : `v1.${version}`}`
}

/** Positive if `a` is stricter than `b`. */
export function compareLevels(a: Level, b: Level): number {
  return levels.indexOf(a) - levels.indexOf(b)
}

export function isSame(a: LevelVersion, b: LevelVersion): boolean {
  return a.level === b.level && a.version === b.version
}

/** The privileged level checks nothing, so its version is ignored. */
export function isEquivalent(a: Policy, b: Policy): boolean {
  return modes.every(
    mode => isSame(a[mode], b[mode]) || (a[mode].level === 'privileged' && b[mode].level === 'privileged'),
  )
}

export function isPrivileged(policy: Policy): boolean {
  return modes.every(mode => policy[mode].level === 'privileged')
}

export interface ReadPolicy {
  readonly policy: Policy
  readonly errors: readonly FieldError[]
}

/**
 * The policy from a namespace's labels. An invalid enforce label results in `restricted`, so that a typo does
 * not open the namespace; an invalid audit or warn label in `privileged`.
 */
export function policyOf(labels: Labels | undefined, defaults: Policy): ReadPolicy {
  if (labels === undefined) return { policy: defaults, errors: [] }
  const errors: FieldError[] = []
  const read = (mode: Mode): LevelVersion => {
    const level = readLabel(labels, mode, { parse: parseLevel, message: levelMessage, errors })
    const version = readLabel(labels, `${mode}-version`, {
      parse: parseVersion,
      message: versionMessage,
      errors,
    })
    return {
      level:
        level === undefined
          ? defaults[mode].level
          : (level.value ?? (mode === 'enforce' ? 'restricted' : 'privileged')),
      version: version === undefined ? defaults[mode].version : (version.value ?? latestVersion),
    }
  }
  const policy = { enforce: read('enforce'), audit: read('audit'), warn: read('warn') }
  return { policy: { ...policy, warn: warnFor(labels, policy) }, errors }
}

interface LabelReading<T> {
  readonly parse: (text: string) => T | undefined
  readonly message: string
  readonly errors: FieldError[]
}

/** Undefined if the label is absent; `value` is undefined if it is invalid. */
function readLabel<T>(
  labels: Labels,
  name: string,
  { parse, message, errors }: LabelReading<T>,
): { readonly value: T | undefined } | undefined {
  const label = `${labelPrefix}${name}`
  const text = labels[label]
  if (text === undefined) return undefined
  const value = parse(text)
  if (value === undefined) errors.push(invalid(`metadata.labels[${label}]`, text, message))
  return { value }
}

/**
 * Without a warn label, workloads are warned about violations of the enforce level if it is stricter than the
 * default.
 */
function warnFor(labels: Labels, { enforce, warn }: Policy): LevelVersion {
  const isEnforced = parseLevel(labels[`${labelPrefix}enforce`] ?? '') !== undefined
  if (
    labels[`${labelPrefix}warn`] !== undefined ||
    !isEnforced ||
    compareLevels(enforce.level, warn.level) <= 0
  ) {
    return warn
  }
  const isVersioned = labels[`${labelPrefix}warn-version`] !== undefined
  return { level: enforce.level, version: isVersioned ? warn.version : enforce.version }
}
