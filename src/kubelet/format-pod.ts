/** Pod name in messages: `web_default(5a8e...)`. */
import type { Pod } from '#/api/generated/core/v1.ts'

export function formatPod({ metadata }: Pod): string {
  const { name = '', namespace = '', uid = '' } = metadata
  return `${name}_${namespace}(${uid})`
}
