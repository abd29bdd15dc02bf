# Writes the table of values into a header, as it is.
file(READ ${VALUES} text)
file(WRITE ${HEADER} "#include <string_view>\n\ninline constexpr std::string_view measured_values = R\"table(${text})table\";\n")
