import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { DescribeWriter } from './describe-writer.ts'
import { describePodTemplate } from './sections/pod-template.ts'

/** A pod template as `describe` shows it, with tabs between the columns. */
export function podTemplateText(template: PodTemplateSpec): string {
  let text = ''
  const writer = new DescribeWriter({ write: written => (text += written), flush: () => undefined })
  describePodTemplate(template, { writer, timeZone: 'UTC' })
  return text
}
