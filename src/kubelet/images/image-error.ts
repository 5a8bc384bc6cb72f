/** As the status of a container shows it. */
export type ImageErrorReason =
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'ErrImageNeverPull'
  | 'InvalidImageName'
  | 'ImageInspectError'
  | 'RegistryUnavailable'
  | 'SignatureValidationFailed'

/** There is no image to make a container of. */
export class ImageError extends Error {
  readonly reason: ImageErrorReason
  constructor(reason: ImageErrorReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ImageError'
    this.reason = reason
  }
}
