import { formatDurationMs } from '#/api/text/duration.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import {
  flag,
  integer,
  readConfiguration,
  struct,
  text,
  type ConfigurationType,
} from '../../plugin-configuration.ts'
import { ConfigurationError } from '../../plugin-context.ts'

export interface ImagePolicy {
  readonly kubeConfigFile: string
  /** Cache TTL of allowing verdicts; zero disables caching. */
  readonly allowMs: number
  readonly denyMs: number
  readonly retryBackoffMs: number
  /** True if images are admitted when the backend is unavailable. */
  readonly defaultAllow: boolean
}

interface Written {
  readonly imagePolicy?: {
    readonly kubeConfigFile?: string
    readonly allowTTL?: number
    readonly denyTTL?: number
    readonly retryBackoff?: number
    readonly defaultAllow?: boolean
  }
}

const form: ConfigurationType<Written> = {
  name: 'ImagePolicyWebhook',
  schema: struct('ImagePolicyWebhook', {
    imagePolicy: struct('ImagePolicy', {
      kubeConfigFile: text,
      allowTTL: integer,
      denyTTL: integer,
      retryBackoff: integer,
      defaultAllow: flag,
    }),
  }),
}

const minuteMs = 60_000

export function readImagePolicy(configuration: JsonValue): ImagePolicy {
  const { imagePolicy = {} } = readConfiguration(configuration, form)
  const {
    kubeConfigFile = '',
    allowTTL = 0,
    denyTTL = 0,
    retryBackoff = 0,
    defaultAllow = false,
  } = imagePolicy
  if (kubeConfigFile === '') {
    throw new ConfigurationError(
      'invalid configuration of ImagePolicyWebhook: imagePolicy.kubeConfigFile is required',
    )
  }
  return {
    kubeConfigFile,
    defaultAllow,
    allowMs: duration(allowTTL, {
      unitMs: 1_000,
      minMs: 1_000,
      maxMs: 30 * minuteMs,
      defaultMs: 5 * minuteMs,
    }),
    denyMs: duration(denyTTL, { unitMs: 1_000, minMs: 1_000, maxMs: 30 * minuteMs, defaultMs: 30_000 }),
    retryBackoffMs: duration(retryBackoff, { unitMs: 1, minMs: 1, maxMs: 5 * minuteMs, defaultMs: 500 }),
  }
}

interface DurationRule {
  readonly unitMs: number
  readonly minMs: number
  readonly maxMs: number
  readonly defaultMs: number
}

/** Zero selects the default, -1 selects zero. */
function duration(value: number, { unitMs, minMs, maxMs, defaultMs }: DurationRule): number {
  if (value === 0) return defaultMs
  if (value === -1) return 0
  const ms = value * unitMs
  if (ms >= minMs && ms <= maxMs) return ms
  const range = `${formatDurationMs(minMs)} and ${formatDurationMs(maxMs)}`
  throw new ConfigurationError(
    `invalid configuration of ImagePolicyWebhook: valid value is between ${range}, got ${formatDurationMs(ms)}`,
  )
}
