/** Objects of the group `output.kubeadm.k8s.io`, as kubeadm prints them with `-o json` and `-o yaml`. */
import { enumFlag } from '#/base/flags.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'

export const outputFlag = {
  ...enumFlag(['text', 'json', 'yaml'], 'output format (default text)'),
  shorthand: 'o',
}

export function printObject(kind: string, fields: JsonObject, format: 'json' | 'yaml'): string {
  const object = { kind, apiVersion: 'output.kubeadm.k8s.io/v1alpha3', ...fields }
  return format === 'json' ? `${JSON.stringify(object, null, 4)}\n` : stringifyYaml(object)
}
