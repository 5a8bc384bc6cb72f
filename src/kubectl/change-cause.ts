/**
 * The annotation with the command that changed an object last, which `--record` sets and `rollout history`
 * shows.
 */
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { Invocation } from './command.ts'
import { boolFlag } from './flag-types.ts'

export const changeCauseAnnotation = 'kubernetes.io/change-cause'

export const recordFlag = boolFlag('Record the command line in an annotation of the object.', {
  hidden: true,
  deprecated: '--record will be removed in the future',
})

type Recorded = Pick<Invocation, 'args' | 'flagTexts' | 'commandPath'> & {
  readonly flags: { readonly record?: boolean }
}

/** Flags whose values are secrets. */
const classified: ReadonlySet<string> = new Set(['token', 'password', 'username'])

/** The command line with the full names of its flags. Undefined without `--record`. */
export function changeCauseOf({ args, flags, flagTexts, commandPath }: Recorded): string | undefined {
  if (!flags.record) return undefined
  const given = [...flagTexts].flatMap(([name, texts]) =>
    texts.map(text => `--${name}=${classified.has(name) ? 'CLASSIFIED' : text}`),
  )
  return [commandPath, ...args, ...given].join(' ')
}

/** The object with the annotation; unchanged without a cause. */
export function withChangeCause(object: JsonObject, cause: string | undefined): JsonObject {
  if (cause === undefined) return object
  const metadata = isObject(object['metadata']) ? object['metadata'] : {}
  const annotations = isObject(metadata['annotations']) ? metadata['annotations'] : {}
  return {
    ...object,
    metadata: { ...metadata, annotations: { ...annotations, [changeCauseAnnotation]: cause } },
  }
}

/** The merge patch that sets the annotation. */
export function changeCausePatch(cause: string): string {
  return JSON.stringify({ metadata: { annotations: { [changeCauseAnnotation]: cause } } })
}
