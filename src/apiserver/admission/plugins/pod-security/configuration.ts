/** PodSecurityConfiguration: default levels for namespaces without labels, and exemptions. */
import { duplicate, invalid, type FieldError } from '#/api/field-error.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { checkDns1123Label, checkDns1123Subdomain } from '#/api/names.ts'
import {
  checkConfiguration,
  listOf,
  readConfiguration,
  struct,
  text,
  versionedStruct,
  type ConfigurationType,
} from '../../plugin-configuration.ts'
import {
  latestVersion,
  levelMessage,
  modes,
  parseLevel,
  parseVersion,
  versionMessage,
  type Mode,
  type Policy,
} from './policy.ts'

export interface PodSecurityConfiguration {
  readonly defaults: Policy
  readonly exemptions: Exemptions
}

export interface Exemptions {
  readonly usernames: ReadonlySet<string>
  readonly namespaces: ReadonlySet<string>
  readonly runtimeClasses: ReadonlySet<string>
}

interface Written {
  readonly defaults?: Readonly<Record<string, string>>
  readonly exemptions?: {
    readonly usernames?: readonly string[]
    readonly namespaces?: readonly string[]
    readonly runtimeClasses?: readonly string[]
  }
}

const defaultFields = Object.fromEntries(
  modes.flatMap(mode => [mode, `${mode}-version`]).map(name => [name, text]),
)

const group = 'pod-security.admission.config.k8s.io'
const names = listOf(text)

const form: ConfigurationType<Written> = {
  name: 'PodSecurity',
  kind: 'PodSecurityConfiguration',
  versions: [`${group}/v1`, `${group}/v1beta1`, `${group}/v1alpha1`],
  schema: versionedStruct('PodSecurityConfiguration', {
    defaults: struct('PodSecurityDefaults', defaultFields),
    exemptions: struct('PodSecurityExemptions', {
      usernames: names,
      namespaces: names,
      runtimeClasses: names,
    }),
  }),
}

export function readPodSecurity(configuration: JsonValue | undefined): PodSecurityConfiguration {
  const { defaults = {}, exemptions = {} } =
    configuration === undefined ? {} : readConfiguration(configuration, form)
  const { usernames = [], namespaces = [], runtimeClasses = [] } = exemptions
  checkConfiguration('PodSecurity', [
    ...modes.flatMap(mode => checkDefaults(defaults, mode)),
    ...checkNames('exemptions.namespaces', namespaces, checkDns1123Label),
    ...checkNames('exemptions.runtimeClasses', runtimeClasses, checkDns1123Subdomain),
    ...checkNames('exemptions.usernames', usernames, name =>
      name === '' ? ['username must not be empty'] : [],
    ),
  ])
  const of = (mode: Mode): Policy[Mode] => ({
    level: parseLevel(defaults[mode] || 'privileged') ?? 'restricted',
    version: parseVersion(defaults[`${mode}-version`] || 'latest') ?? latestVersion,
  })
  return {
    defaults: { enforce: of('enforce'), audit: of('audit'), warn: of('warn') },
    exemptions: {
      usernames: new Set(usernames),
      namespaces: new Set(namespaces),
      runtimeClasses: new Set(runtimeClasses),
    },
  }
}

function checkDefaults(defaults: Readonly<Record<string, string>>, mode: Mode): FieldError[] {
  const level = defaults[mode] || 'privileged'
  const version = defaults[`${mode}-version`] || 'latest'
  return [
    ...(parseLevel(level) === undefined ? [invalid(`defaults.${mode}`, level, levelMessage)] : []),
    ...(parseVersion(version) === undefined
      ? [invalid(`defaults.${mode}-version`, version, versionMessage)]
      : []),
  ]
}

function checkNames(
  field: string,
  names: readonly string[],
  check: (name: string) => readonly string[],
): FieldError[] {
  return names.flatMap((name, index) => {
    const wrong = check(name)
    if (wrong.length > 0) return [invalid(`${field}[${index}]`, name, wrong.join(', '))]
    return names.indexOf(name) < index ? [duplicate(`${field}[${index}]`, name)] : []
  })
}
