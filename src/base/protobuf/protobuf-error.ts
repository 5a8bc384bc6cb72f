/** Malformed bytes, or a value that cannot be encoded. The message names the field. */
export class ProtobufError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ProtobufError'
  }

  /** The same error with the enclosing field prepended to the path. */
  within(field: string): ProtobufError {
    return new ProtobufError(`${field}: ${this.message}`, { cause: this })
  }
}
