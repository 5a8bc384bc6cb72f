/** Rules of VolumeAttachment. */
import { forbiddenField, invalid, required, tooLong, type FieldError } from '../../field-error.ts'
import type { VolumeAttachment, VolumeAttachmentSource, VolumeError } from '../../generated/storage/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { validateCsiDriverName, validateDnsSubdomain } from '../validation/field-checks.ts'
import { validateInlineVolumeSpec } from '../core/persistent-volume-validation.ts'
import { textBytes } from './parameters.ts'

export const volumeAttachmentRules: KindRules<VolumeAttachment> = {
  validatesMetadataOnce: true,
  statusKeepsMetadata: true,
  prepareForCreate: attachment => ({ ...attachment, status: { attached: false } }),
  validate: validateAttachment,
  validateUpdate: validateAttachmentUpdate,
  validateStatusUpdate: validateAttachmentUpdate,
  allowUnconditionalUpdate: false,
  returnDeletedObject: true,
}

function validateAttachmentUpdate(attachment: VolumeAttachment, old: VolumeAttachment): FieldError[] {
  return [...validateAttachment(attachment), ...validateImmutable(attachment.spec, old.spec, 'spec')]
}

const metadataBytesMax = 256 * 1024
const messageBytesMax = 1_024

function validateAttachment({ spec, status }: VolumeAttachment): FieldError[] {
  const metadata = status?.attachmentMetadata ?? {}
  const volumeName = spec?.source?.persistentVolumeName
  return [
    ...validateCsiDriverName('spec.attacher', spec?.attacher),
    ...validateSource('spec.source', spec?.source ?? {}),
    ...validateDnsSubdomain('spec.nodeName', spec?.nodeName ?? ''),
    ...(textBytes(metadata) > metadataBytesMax
      ? [tooLong('status.attachmentMetadata', metadataBytesMax)]
      : []),
    ...validateError('status.attachError', status?.attachError),
    ...validateError('status.detachError', status?.detachError),
    ...(volumeName === undefined ? [] : validateDnsSubdomain('spec.source.persistentVolumeName', volumeName)),
  ]
}

function validateSource(field: string, source: VolumeAttachmentSource): FieldError[] {
  const { inlineVolumeSpec, persistentVolumeName } = source
  const detail = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'
  if (inlineVolumeSpec !== undefined) {
    if (persistentVolumeName !== undefined) return [forbiddenField(field, detail)]
    return validateInlineVolumeSpec(`${field}.inlineVolumeSpec`, inlineVolumeSpec)
  }
  if (persistentVolumeName === undefined) return [required(field, detail)]
  if (persistentVolumeName !== '') return []
  return [required(`${field}.persistentVolumeName`, 'must specify non empty persistentVolumeName')]
}

function validateError(field: string, error: VolumeError | undefined): FieldError[] {
  const { message = '', errorCode = 0 } = error ?? {}
  const errors: FieldError[] = []
  // Kubernetes' message names the wrong limit.
  if (Buffer.byteLength(message) > messageBytesMax) errors.push(tooLong(`${field}.message`, metadataBytesMax))
  if (errorCode >= 0) return errors
  return [...errors, invalid(`${field}.errorCode`, errorCode, 'must be between 0 and 2147483647, inclusive')]
}
