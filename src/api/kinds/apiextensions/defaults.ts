/** Defaulting of CustomResourceDefinition. */
import type {
  CustomResourceConversion,
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionSpec,
} from '../../generated/apiextensions/v1.ts'
import { withDefaults, withField } from '../../copy-on-write.ts'
import { withServicePort } from '../validation/webhook-client.ts'

export function withDefinitionDefaults(definition: CustomResourceDefinition): CustomResourceDefinition {
  return withField(definition, 'spec', spec => {
    const named = withField(spec, 'names', withNames)
    return withField(withConversion(named), 'conversion', withWebhookPort)
  })
}

function withNames(names: CustomResourceDefinitionNames): CustomResourceDefinitionNames {
  const { kind } = names
  return kind ? withDefaults(names, { singular: kind.toLowerCase(), listKind: `${kind}List` }) : names
}

function withConversion(spec: CustomResourceDefinitionSpec): CustomResourceDefinitionSpec {
  return spec.conversion ? spec : { ...spec, conversion: { strategy: 'None' } }
}

function withWebhookPort(conversion: CustomResourceConversion): CustomResourceConversion {
  return withField(conversion, 'webhook', webhook => withField(webhook, 'clientConfig', withServicePort))
}
